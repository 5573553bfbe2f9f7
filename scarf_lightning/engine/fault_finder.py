"""Looks on at a phase with parts of a user's own, and tells of the first step in which one of them spoils a trial."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..errors import UsageError
from .stack_modules import StackModule


class FaultFinder:
    """Finds the part that spoilt each trial which diverges.

    Args:
        phase: in words, for sentences.
        module: the networks, and the parts that compute their losses.
        told: takes the first sentence.

    Attributes:
        is_needed: one of the parts is a user's own. Nothing is looked at otherwise.
    """

    def __init__(self, phase: str, module: StackModule, told: list[str]) -> None:
        self._phase = phase
        self._module = module
        self._told = told
        self._sentences: dict[int, str] = {}
        self._has_told = False
        self.is_needed = module.suspects.has_foreign
        module.keeps_evidence = self.is_needed
        # An accelerator goes on while the host reads, and would have to wait for it in each step.
        self._looks = self.is_needed and module.roster.index.device.type == "cpu"

    def look(self, losses: Tensor, step: int) -> None:
        """Look at the losses ``(T,)`` of a step, before the optimiser spreads what is wrong with them."""
        # The sum is finite for all steps but those of a fault, and reading it takes two microseconds.
        if not self._looks or losses.sum().isfinite():
            return
        lost = ~losses.isfinite()
        # They stay in the stack to the end of the epoch.
        known = [position in self._sentences for position in self._module.roster.positions]
        self._find(lost & ~torch.tensor(known), f"at step {step} of {self._phase}")

    def end_epoch(self, diverged: NDArray[np.bool_], places: NDArray[np.int64], step: int) -> None:
        """Tell of the trials that an epoch has lost.

        Args:
            diverged: the mask of all trials that have diverged, ``(T,)``.
            places: in the module, of those that this epoch has lost.
            step: the last one.

        Raises:
            UsageError: all trials of the stack have diverged, and a part is at fault.
        """
        if not self.is_needed or not len(places):
            return
        positions = [self._module.roster.positions[place] for place in places]
        unknown = [place for place, each in zip(places, positions, strict=True) if each not in self._sentences]
        if unknown:
            mask = torch.zeros(len(self._module.roster), dtype=torch.bool, device=self._module.roster.index.device)
            mask[unknown] = True
            self._find(mask, f"at step {step} of {self._phase} or before")
        found = [self._sentences[each] for each in positions if each in self._sentences]
        if found and diverged.all():
            raise UsageError(found[0])
        # A part that spoils one trial mostly spoils more, at other steps.
        if found and not self._has_told:
            self._has_told = True
            self._told.append(f"{found[0]} A trial that it spoils has diverged, and is in no mean.")

    def _find(self, lost: Tensor, when: str) -> None:
        if not lost.any():
            return
        sentence = self._module.fault_sentence(lost, when)
        if sentence is not None:
            for place in lost.nonzero().flatten().tolist():
                self._sentences[int(self._module.roster.positions[place])] = sentence
