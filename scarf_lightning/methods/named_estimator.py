"""Any estimator with the interface of scikit-learn, by its name."""

import importlib
import inspect
import sys
import warnings
from dataclasses import dataclass
from functools import cache
from importlib.metadata import packages_distributions
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from ..data.preprocessing import Ordinal
from ..errors import UsageError, did_you_mean, unknown_name
from ..options.option import option
from .boosting import typed
from .rivals import Floats, Ints, Lesson, Rival, numbered

if TYPE_CHECKING:
    from ..engine.stack import Stack

INTERFACE = ("fit", "predict", "get_params")
"""Methods that every estimator of scikit-learn has."""


@dataclass
class NamedEstimator(Rival):
    """An estimator of an installed package, by its name such as ``lightgbm.LGBMClassifier``, with its own ``options``.
    It needs the methods ``fit``, ``predict`` and ``get_params``, and of classes ``predict_proba``.

    Its ``random_state`` is set by the trial, and ``n_jobs`` to 1, if it has them and ``options`` do not. It does not
    validate, unless it does so by itself with a part of the labels that it gets.
    """

    name: ClassVar[str] = "sklearn"
    label: ClassVar[str] = "estimator"
    # A class of the user's may take the GPU by itself.
    needs_device: ClassVar[bool] = True
    paper: ClassVar[str] = "Buitinck et al., 2013 (scikit-learn), arXiv:1309.0238"
    estimator: str | None = option(
        None, "class of an installed package, such as sklearn.svm.SVC; null takes extra trees"
    )
    options: dict[str, Any] | None = option(None, "its own options, as in {n_estimators:200,max_depth:3}")
    encoding: Literal["onehot", "ordinal", "categories"] = option(
        "onehot", "of categorical columns: numbers, codes in one column, or columns of pandas's type for categories"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.estimator is not None:
            self._check_options(found_class(self.estimator))

    def predict(self, lesson: Lesson) -> Floats:
        model = self._model(lesson)
        # Looked at beforehand: an estimator may take any keyword, and ignore it.
        weights = {} if lesson.weights is None else {"sample_weight": lesson.weights}
        if weights and "sample_weight" not in inspect.signature(model.fit).parameters:
            raise UsageError(f"{self.estimator} knows no weights of rows; leave out weights and class_weight.")
        train = self._features(lesson.stack, lesson.stack.data.labelled)
        rows = self._features(lesson.stack, lesson.stack.data.predicted)
        with warnings.catch_warnings():
            # Its own library would warn once for each trial.
            warnings.simplefilter("ignore")
            try:
                model = model.fit(train, lesson.labels, **weights)
                predictions = lesson.target.predicted_by(model, rows)
            except (TypeError, ValueError) as error:
                raise UsageError(
                    f"{self.estimator or self.name} refuses these rows, or its options: {error}"
                ) from error
        if len(predictions) != len(rows):
            raise UsageError(f"{self.estimator} predicts {len(predictions)} of {len(rows)} rows.")
        return np.asarray(predictions, dtype=np.float64)

    def _model(self, lesson: Lesson) -> Any:
        """The estimator before its fit.

        Raises:
            UsageError: it does not serve the target, or refuses its options.
        """
        from sklearn.base import is_classifier
        from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

        cls: Any = lesson.target.choose(classifier=ExtraTreesClassifier, regressor=ExtraTreesRegressor)
        if self.estimator is not None:
            cls = found_class(self.estimator)
        options = self.options or {}
        try:
            model = cls(**options)
        except Exception as error:
            raise UsageError(f"{self.estimator} refuses method.options: {error}") from error
        known = model.get_params()
        for name, value in (("random_state", lesson.seed), ("n_jobs", 1)):
            # What the user sets counts, and not every estimator is random.
            if name in known and name not in options:
                model.set_params(**{name: value})
        gives_probabilities = hasattr(model, "predict_proba")
        if lesson.target.can_balance and not gives_probabilities:
            raise UsageError(
                f"{self.estimator} has no predict_proba with these options, and classes need probabilities; take "
                "another estimator."
            )
        if not lesson.target.can_balance and is_classifier(model):
            raise UsageError(f"{self.estimator} is a classifier, and the target is a number; take a regressor.")
        return model

    def _check_options(self, cls: type[Any]) -> None:
        """Refuse options that the constructor does not know, and a constructor that needs others."""
        options = self.options or {}
        takes_any = False
        known: list[str] = []
        missing: list[str] = []
        for parameter in inspect.signature(cls).parameters.values():
            takes_any |= parameter.kind is parameter.VAR_KEYWORD
            if parameter.kind not in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD):
                continue
            known.append(parameter.name)
            if parameter.default is parameter.empty and parameter.name not in options:
                missing.append(parameter.name)
        for name in options:
            if name not in known and not takes_any:
                fault = f"method.options: {name} is no option of {self.estimator}"
                raise UsageError(unknown_name(fault, str(name), known, "its options"))
        if missing:
            raise UsageError(f"{self.estimator} needs {', '.join(missing)}; set method.options={{{missing[0]}:VALUE}}.")

    def _features(self, stack: "Stack", rows: Ints) -> Any:
        """``rows`` ``(1, n)`` of a stack of one, imputed, scaled and encoded."""
        if self.encoding == "categories":
            return typed(stack, rows)
        if self.encoding == "onehot":
            return stack.encoded(rows)[0]
        return numbered(stack, rows, Ordinal())


@cache
def found_class(name: str) -> type[Any]:
    """The class of this dotted name.

    Raises:
        UsageError: its package is not installed, or it is no estimator.
    """
    place, _, last = name.rpartition(".")
    package = place.partition(".")[0]
    # A name without a package would be looked up among the modules of Python.
    if not place or not (package in sys.modules or package in packages_distributions()):
        why = f"{package} is not installed" if place else "it names no package"
        raise UsageError(
            f"method.estimator={name}: {why}; name a class of an installed package, as in sklearn.svm.SVC."
        )
    try:
        module = importlib.import_module(place)
    except Exception as error:
        raise UsageError(
            f"method.estimator={name}: {place} cannot be imported: {type(error).__name__}: {error}."
        ) from error
    cls = getattr(module, last, None)
    if cls is None:
        hint = did_you_mean(last, dir(module)) or "Name one of its classes."
        raise UsageError(f"method.estimator={name}: {place} has no {last}. {hint}")
    if not inspect.isclass(cls) or not all(hasattr(cls, each) for each in INTERFACE):
        raise UsageError(f"method.estimator={name} is no estimator: it needs {', '.join(INTERFACE)}.")
    return cls


def distribution_of(name: str) -> str | None:
    """The distribution that an estimator's package belongs to, as installed packages are listed; None if to none."""
    distributions = packages_distributions().get(name.partition(".")[0], [])
    return distributions[0] if distributions else None
