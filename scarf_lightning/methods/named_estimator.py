"""Any estimator with the interface of scikit-learn, by its name."""

import inspect
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from ..data.preprocessing import Ordinal
from ..errors import UsageError
from ..options.option import option
from .rivals import Floats, Ints, Lesson, Rival, find_class, numbered, typed

if TYPE_CHECKING:
    from ..engine.stack import Stack


@dataclass
class NamedEstimator(Rival):
    """An estimator of an installed package, by its name such as ``lightgbm.LGBMClassifier``, with its own ``options``.
    It needs the methods ``fit``, ``predict`` and ``get_params``, and of classes ``predict_proba``.

    Its ``random_state`` is set by the trial, and ``n_jobs`` to 1, if it has them and ``options`` do not. It does not
    validate, unless it does so by itself with a part of the labels that it gets.
    """

    name: ClassVar[str] = "sklearn"
    models = ("sklearn.ensemble.ExtraTreesClassifier", "sklearn.ensemble.ExtraTreesRegressor")
    label: ClassVar[str] = "estimator"
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
            try:
                find_class(self.estimator)(**(self.options or {}))
            except (TypeError, ValueError) as error:
                raise UsageError(f"{self.estimator} refuses method.options: {error}") from error

    def predict(self, lesson: Lesson) -> Floats:
        with warnings.catch_warnings():
            # Its own library would warn once for each trial.
            warnings.simplefilter("ignore")
            try:
                predictions = super().predict(lesson)
            except UsageError:
                raise
            except (TypeError, ValueError) as error:
                raise UsageError(
                    f"{self.estimator or self.name} refuses these rows, or its options: {error}"
                ) from error
        n_rows = lesson.stack.data.test.shape[1]
        if len(predictions) != n_rows:
            raise UsageError(f"{self.estimator} predicts {len(predictions)} of {n_rows} rows.")
        return np.asarray(predictions, dtype=np.float64)

    def model(self, lesson: Lesson) -> Any:
        """The estimator before its fit.

        Raises:
            UsageError: it does not serve the target.
        """
        from sklearn.base import is_classifier

        model = super().model(lesson)
        # Looked at beforehand: an estimator may take any keyword, and ignore it.
        if lesson.weights is not None and "sample_weight" not in inspect.signature(model.fit).parameters:
            raise UsageError(f"{self.estimator} knows no weights of rows; leave out weights and class_weight.")
        if lesson.target.has_classes and not hasattr(model, "predict_proba"):
            raise UsageError(
                f"{self.estimator} has no predict_proba with these options, and classes need probabilities; take "
                "another estimator."
            )
        if not lesson.target.has_classes and is_classifier(model):
            raise UsageError(f"{self.estimator} is a classifier, and the target is a number; take a regressor.")
        return model

    @property
    def libraries(self) -> tuple[str, ...]:
        return super().libraries if self.estimator is None else (self.estimator.partition(".")[0],)

    def named(self, lesson: Lesson) -> str:
        return self.estimator or super().named(lesson)

    def arguments(self, lesson: Lesson) -> dict[str, Any]:
        return self.options or {}

    def features(self, stack: "Stack", rows: Ints) -> Any:
        if self.encoding == "categories":
            return typed(stack, rows)
        return super().features(stack, rows) if self.encoding == "onehot" else numbered(stack, rows, Ordinal())
