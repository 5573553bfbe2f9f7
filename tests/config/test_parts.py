"""What is refused of parts before torch is imported."""

import subprocess
import sys

import pytest

from scarf_lightning.config import build_parts, check_options
from scarf_lightning.errors import UsageError
from tests.composing import config_of

REFUSED = [
    (("corruption.rate=2",), "corruption.rate must lie in (0, 1], not 2.0."),
    (("loss.temperature=-1",), "loss.temperature must be greater than 0, not -1.0."),
    (("loss.similarity=angle",), "loss.similarity must be one of cosine, dot, not angle."),
    (("network.encoder.width=0",), "network.encoder.width must be at least 1, not 0."),
    (("network=mlp_plr", "network.encoder.depth=0"), "network.encoder.depth must be at least 1, not 0."),
    (("pretrain=vime", "pretrain.alpha=0"), "pretrain.alpha must be greater than 0, not 0.0."),
    (("regime=noise30", "regime.noise=1.5"), "regime.noise must lie in [0, 1], not 1.5."),
    (("pretrain=none", "method=xgboost", "method.order=any"), "method.order must be one of declared, sorted, not any."),
    (("encoding=ordinal", "encoding.order=any"), "encoding.order must be one of declared, sorted, not any."),
    (("method=cotrain", "cotrain.corruption.rate=3"), "cotrain.corruption.rate must lie in (0, 1], not 3.0."),
    (("method=cotrain", "cotrain=subtab", "cotrain.n_subsets=1"), "cotrain.n_subsets must be at least 2, not 1."),
]


@pytest.mark.parametrize(("overrides", "said"), REFUSED, ids=lambda each: "" if isinstance(each, str) else each[-1])
def test_what_is_beyond_its_limits_is_refused_as_building_refuses_it(overrides: tuple[str, ...], said: str) -> None:
    config = config_of(*overrides)
    for check in (check_options, build_parts):
        with pytest.raises(UsageError) as refused:
            check(config)
        assert str(refused.value) == said


def test_a_wrong_type_is_refused_too() -> None:
    with pytest.raises(UsageError, match=r"^loss\.temperature: Value 'warm' .* could not be converted to Float\.$"):
        check_options(config_of("loss.temperature=warm"))


@pytest.mark.parametrize("overrides", [(), ("pretrain=subtab",), ("method=cotrain",), ("network=ft_transformer",)])
def test_what_is_within_them_is_not(overrides: tuple[str, ...]) -> None:
    check_options(config_of(*overrides))


def test_what_a_cell_does_not_use_is_not_looked_at() -> None:
    check_options(config_of("pretrain=none", "corruption.rate=2"))


def test_torch_is_not_imported_for_it() -> None:
    program = (
        "import sys\n"
        "from scarf_lightning import plan\n"
        "from scarf_lightning.errors import UsageError\n"
        "try:\n"
        "    plan('corruption.rate=2')\n"
        "except UsageError as error:\n"
        "    print(error, 'torch' in sys.modules)\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "corruption.rate must lie in (0, 1], not 2.0. False\n"
