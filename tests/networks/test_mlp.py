import pytest
import torch
from torch import Tensor, nn

from scarf_lightning.networks import Columns, Dropout, ReLUNetwork
from scarf_lightning.networks.mlp import MLP


def normal(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def plain(network: ReLUNetwork, *, final_relu: bool) -> nn.Sequential:
    parts: list[nn.Module] = []
    for layer in network.layers:
        parts += [layer, nn.ReLU()]
    return nn.Sequential(*parts if final_relu else parts[:-1])


@pytest.mark.parametrize("final_relu", [False, True])
@pytest.mark.parametrize("widths", [[3, 2], [5, 8, 8, 4], [6, 9, 7, 3]])
def test_linear_layers_with_a_relu_between_them(widths: list[int], final_relu: bool) -> None:
    network = ReLUNetwork(widths, final_relu=final_relu)
    x = normal(9, widths[0])
    assert torch.equal(network(x), plain(network, final_relu=final_relu)(x))


@pytest.mark.parametrize("final_relu", [False, True])
def test_gradients_are_those_of_layers_that_overwrite_nothing(final_relu: bool) -> None:
    network = ReLUNetwork([5, 8, 7, 3], final_relu=final_relu).double()
    expected = plain(network, final_relu=final_relu)
    x, parameters = normal(6, 5).double().requires_grad_(), list(network.parameters())
    found = torch.autograd.grad(network(x).square().sum(), [x, *parameters])
    for one, other in zip(found, torch.autograd.grad(expected(x).square().sum(), [x, *parameters]), strict=True):
        assert torch.equal(one, other)
    assert torch.autograd.gradcheck(network, x)


def test_the_papers_encoder_has_its_layers() -> None:
    network = MLP().build(Columns((0, 3, 0, 1, 5)), None)
    assert [(layer.in_features, layer.out_features) for layer in network.layers] == [(11, 256), *[(256, 256)] * 3]
    assert network.final_relu
    assert MLP(width=4, depth=1, final_relu=False).build(Columns((0,)), None)(normal(3, 1)).shape == (3, 4)


@pytest.mark.parametrize(("final_dropout", "places"), [(False, 2), (True, 3)])
def test_dropout_follows_every_layer_but_the_last_unless_told(
    final_dropout: bool, places: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    monkeypatch.setattr(Dropout, "forward", lambda self, x: seen.append(x.shape) or x)
    ReLUNetwork([5, 8, 7, 3], dropout=0.5, final_dropout=final_dropout)(normal(4, 5))
    assert seen == [(4, 8), (4, 7), (4, 3)][:places]


@pytest.mark.parametrize(("option", "value"), [("width", 0), ("depth", 0)])
def test_sizes_are_checked(option: str, value: int) -> None:
    with pytest.raises(ValueError, match=f"{option} must be at least 1, not 0"):
        MLP(**{option: value})


@pytest.mark.parametrize(("option", "most"), [("width", 100_000), ("depth", 1000)])
def test_sizes_that_nobody_means_are_refused(option: str, most: int) -> None:
    assert getattr(MLP(**{option: most}), option) == most
    with pytest.raises(ValueError, match=f"{option} must be at most {most}, not {most + 1}"):
        MLP(**{option: most + 1})
