"""Models of other libraries: on the same splits, regimes and preprocessing as the networks, or on their embeddings.

A class without a labelled row gets no probability. If there is only one class, it gets all of it. Numbers are learnt in
their own unit; if all are equal, that number is predicted.
"""

import importlib
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import packages_distributions
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ..data.preprocessing import Ordinal, codes_in
from ..data.targets import Labels, Target
from ..errors import UsageError, require
from ..options.option import option
from . import Method, MethodResult, SupervisedPhase

if TYPE_CHECKING:
    import pandas as pd

    from ..engine.stack import Stack

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
INTERFACE = ("fit", "predict", "get_params")
"""Methods that every estimator of scikit-learn has."""
MAX_FEATURES: dict[str, Any] = {"sqrt": "sqrt", "log2": "log2", "half": 0.5, "all": 1.0}
"""Numbers of columns that a split of a random forest considers, as scikit-learn takes them."""


@dataclass(frozen=True)
class Lesson:
    """Training rows of a model in one trial, which is a stack of its own.

    **Shape.** ``labels`` and ``weights`` of the labelled training rows, ``(n_labelled,)``: numbers, or classes numbered
    from 0 among those that occur; None if all rows weigh the same. The ``seed`` is below 2^31.
    """

    stack: "Stack"
    labels: Labels
    weights: Floats | None
    seed: int

    @property
    def target(self) -> Target:
        """The target of the table."""
        return self.stack.table.target


@dataclass
class Rival(Method):
    """A model of another library on the labelled training rows. A class names it, and its options are the model's.

    Class variables:

    - ``models``: the classifier and the regressor, by their packages;
    - ``package``: an optional package that they need; the extra of the same name installs it;
    - ``stream``: of the trial's seed.
    """

    pretrainable: ClassVar[bool] = False
    uses: ClassVar[tuple[str, ...]] = ("finetune.class_weight",)
    has_encoder: ClassVar[bool] = False
    models: ClassVar[tuple[str, str]] = ("", "")
    package: ClassVar[str | None] = None
    stream: ClassVar[str] = "another library's classifier"

    def __post_init__(self) -> None:
        super().__post_init__()
        # A missing package is reported when the method is chosen, before anything has been trained.
        if self.package is not None:
            require(self.package, f"method={self.name}")

    @property
    def libraries(self) -> tuple[str, ...]:
        return tuple(sorted({name.partition(".")[0] for name in self.models if name}))

    def run(self, stack: "Stack", phase: SupervisedPhase) -> MethodResult:
        weights = stack.row_weights(phase.settings.class_weight)

        def learn(position: int, labels: Labels) -> Floats:
            row_weights = None if weights is None else weights[position]
            # Libraries take seeds below 2^31.
            seed = stack.streams.seed_of(stack.trials[position], self.stream) % 2**31
            return self.predict(Lesson(stack.of([position]), labels, row_weights, seed))

        return trial_by_trial(stack, learn)

    def predict(self, lesson: Lesson) -> Floats:
        """Fit, and return numbers for the predicted rows, ``(n,)``, or probabilities of the classes that occur."""
        data, model = lesson.stack.data, self.model(lesson)
        train_features, test_features = (self.features(lesson.stack, rows) for rows in (data.labelled, data.test))
        weights = {} if lesson.weights is None else {"sample_weight": lesson.weights}
        return lesson.target.predicted_by(model.fit(train_features, lesson.labels, **weights), test_features)

    def model(self, lesson: Lesson) -> Any:
        """The model before its fit."""
        return seeded(find_class(self.named(lesson)), self.arguments(lesson), lesson.seed)

    def named(self, lesson: Lesson) -> str:
        """The name of the model that serves the target."""
        classifier, regressor = self.models
        name: str = lesson.target.choose(classifier=classifier, regressor=regressor)
        return name

    def arguments(self, lesson: Lesson) -> dict[str, Any]:
        """The arguments of the model."""
        return dict(vars(self))

    def features(self, stack: "Stack", rows: Ints) -> Any:
        """``rows`` ``(1, n)`` of a stack of one, as the model takes them; by default encoded."""
        return stack.encoded(rows)[0]


def seeded(cls: type[Any], arguments: dict[str, Any], seed: int) -> Any:
    """A model with the seed of a trial, and with one thread, if it has such arguments and they are left out."""
    model = cls(**arguments)
    parameters = model.get_params()
    # One thread: cells are trained side by side, a core each.
    for name, value in (("random_state", seed), ("n_jobs", 1)):
        if name in parameters and name not in arguments:
            model.set_params(**{name: value})
    return model


def trial_by_trial(stack: "Stack", learn: Callable[[int, Labels], Floats]) -> MethodResult:
    """The result of models that are not our networks, each timed by itself.

    ``learn`` takes the position of a trial and its labels as `Target.taught` numbers them, and gives predictions.
    """
    data, target = stack.data, stack.table.target
    n_trials, n_predicted = data.test.shape[:2]
    predictions = []
    # Time of this process and not of the clock: other cells may share the machine.
    times = [time.process_time()]
    for position, labels in enumerate(data.labels):
        predictions.append(target.taught(labels, n_predicted, partial(learn, position)))
        times.append(time.process_time())
    return MethodResult(
        predictions=np.stack(predictions),
        fit=None,
        fits=np.ones(n_trials, dtype=np.int64),
        seconds=np.diff(times),
        diverged=np.zeros(n_trials, dtype=bool),
    )


@dataclass
class Probe(Method):
    """Logistic regression, ridge regression of numbers, or nearest neighbours on the standardised embeddings of the
    labelled training rows.

    Validation rows are not used. Without pre-training f has its initial weights.
    """

    name: ClassVar[str] = "probe"
    paper: ClassVar[str] = "Alain and Bengio, 2017, arXiv:1610.01644"
    uses: ClassVar[tuple[str, ...]] = ("network",)
    has_encoder: ClassVar[bool] = False
    embeds: ClassVar[bool] = True
    classifier: Literal["logistic", "knn"] = option(
        "logistic", "model on the embeddings: logistic (of numbers ridge) or nearest neighbours"
    )
    C: float = option(1.0, "inverse strength of the logistic or ridge regression's penalty", "(0, inf)")
    k: int = option(5, "number of neighbours", "[1, inf)")

    def run(self, stack: "Stack", phase: SupervisedPhase) -> MethodResult:
        from sklearn.preprocessing import StandardScaler

        target, weights = stack.table.target, stack.row_weights()
        if weights is not None and self.classifier == "knn":
            raise UsageError("nearest neighbours know no weights of rows; use method.classifier=logistic.")
        # Once for all trials: a stack of networks is faster than one after the other.
        train_embeddings = stack.embed(stack.data.labelled, phase.pretrained)
        test_embeddings = stack.embed(stack.data.test, phase.pretrained)

        def learn(position: int, labels: Labels) -> Floats:
            train, rows = (
                embeddings[position].astype(np.float64) for embeddings in (train_embeddings, test_embeddings)
            )
            scaler = StandardScaler().fit(train)
            row_weights = {} if weights is None else {"sample_weight": weights[position]}
            model = self._model(target, len(labels)).fit(scaler.transform(train), labels, **row_weights)
            return target.predicted_by(model, scaler.transform(rows))

        return trial_by_trial(stack, learn)

    def _model(self, target: Target, n_rows: int) -> Any:
        """The model before its fit to ``n_rows`` rows."""
        from sklearn.linear_model import LogisticRegression, Ridge
        from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

        if self.classifier == "logistic":
            logistic, ridge = (LogisticRegression(C=self.C, max_iter=10_000), Ridge(1 / self.C))
            return target.choose(classifier=logistic, regressor=ridge)
        neighbours = target.choose(classifier=KNeighborsClassifier, regressor=KNeighborsRegressor)
        # A regime of few labels may have fewer rows than neighbours, which scikit-learn refuses.
        return neighbours(min(self.k, n_rows))


@dataclass
class Logistic(Rival):
    """Scikit-learn's multinomial LogisticRegression with an l2 penalty of strength 1 / ``C``, on encoded rows."""

    name: ClassVar[str] = "logistic"
    models = ("sklearn.linear_model.LogisticRegression", "")
    typical_seconds: ClassVar[tuple[float, float]] = (0.03, 0.04)
    label: ClassVar[str] = "logistic regression"
    paper: ClassVar[str] = "Pedregosa et al., 2011 (scikit-learn), arXiv:1201.0490"
    targets: ClassVar[tuple[str, ...]] = ("classes",)
    why_not: ClassVar[str] = "it fits probabilities of classes; ridge is its counterpart"
    C: float = option(1.0, "inverse strength of the penalty", "(0, inf)")
    max_iter: int = option(10_000, "largest number of solver steps", "[1, inf)")

    def arguments(self, lesson: Lesson) -> dict[str, Any]:
        # The library warns of any other number.
        return vars(self) | {"n_jobs": None}


@dataclass
class Ridge(Rival):
    """Scikit-learn's Ridge: linear regression with an l2 penalty of strength ``alpha``, on encoded rows."""

    name: ClassVar[str] = "ridge"
    models = ("", "sklearn.linear_model.Ridge")
    typical_seconds: ClassVar[tuple[float, float]] = (0.01, 0.01)
    label: ClassVar[str] = "ridge regression"
    paper: ClassVar[str] = "Hoerl and Kennard, 1970 (Technometrics)"
    targets: ClassVar[tuple[str, ...]] = ("number",)
    why_not: ClassVar[str] = "it fits numbers; logistic is its counterpart"
    alpha: float = option(1.0, "strength of the penalty", "[0, inf)")


@dataclass
class Constant(Rival):
    """One answer for every row: the share of each class among the labels, or the mean of numbers.

    Any model is to be better than this one. Scikit-learn's DummyClassifier and DummyRegressor.
    """

    name: ClassVar[str] = "constant"
    models = ("sklearn.dummy.DummyClassifier", "sklearn.dummy.DummyRegressor")
    typical_seconds: ClassVar[tuple[float, float]] = (0.005, 0.0)
    label: ClassVar[str] = "always the commonest answer"
    paper: ClassVar[str] = "Pedregosa et al., 2011 (scikit-learn), arXiv:1201.0490"


@dataclass
class RandomForest(Rival):
    """Scikit-learn's RandomForestClassifier or RandomForestRegressor on encoded rows."""

    name: ClassVar[str] = "random_forest"
    models = ("sklearn.ensemble.RandomForestClassifier", "sklearn.ensemble.RandomForestRegressor")
    typical_seconds: ClassVar[tuple[float, float]] = (0.45, 0.3)
    label: ClassVar[str] = "random forest"
    paper: ClassVar[str] = "Breiman, 2001 (Machine Learning)"
    n_estimators: int = option(500, "number of trees", "[1, 1000000]")
    max_features: Literal["sqrt", "log2", "half", "all"] = option("sqrt", "columns that a split considers")
    min_samples_leaf: int = option(1, "smallest number of rows in a leaf", "[1, inf)")
    max_depth: int | None = option(None, "depth of a tree; null grows pure leaves", "[1, 1000]")

    def arguments(self, lesson: Lesson) -> dict[str, Any]:
        return vars(self) | {"max_features": MAX_FEATURES[self.max_features]}


@dataclass
class XGBoost(Rival):
    """XGBClassifier or XGBRegressor on the labelled training rows (paper, appendix, "Absolute performance"); it does
    not validate. A regressor starts at the mean of the labels, whatever ``base_score`` is.

    Differs from the paper: SCARF's paper gives depth, number of trees and learning rate only. The other defaults
    reproduce its accuracies: categories as codes in the order of the ARFF header, and XGBoost's behaviour before
    version 1, exact trees and a base score of 0.5.
    """

    name: ClassVar[str] = "xgboost"
    models = ("xgboost.XGBClassifier", "xgboost.XGBRegressor")
    typical_seconds: ClassVar[tuple[float, float]] = (0.05, 0.2)
    package: ClassVar[str] = "xgboost"
    label: ClassVar[str] = "XGBoost"
    paper: ClassVar[str] = "Chen and Guestrin, 2016, arXiv:1603.02754"
    stream: ClassVar[str] = "boosted trees"
    max_depth: int = option(3, "depth of a tree", "[1, 1000]")
    n_estimators: int = option(100, "number of trees", "[1, 1000000]")
    learning_rate: float = option(0.1, "shrinkage of a tree", "(0, 1]")
    tree_method: Literal["exact", "approx", "hist"] = option("exact", "how splits are found")
    base_score: float | None = option(0.5, "first probability of a class; null estimates it from the labels", "(0, 1)")
    encoding: Literal["ordinal", "onehot"] = option("ordinal", "encoding of categories, whatever the networks use")

    def arguments(self, lesson: Lesson) -> dict[str, Any]:
        # The encoding is ours; all others are the library's.
        options = {name: value for name, value in vars(self).items() if name != "encoding"}
        # 0.5 is a start for probabilities. Numbers start at their mean, which the library takes if none is given.
        arguments: dict[str, Any] = lesson.target.choose(classifier=options, regressor=options | {"base_score": None})
        return arguments

    def features(self, stack: "Stack", rows: Ints) -> Any:
        return super().features(stack, rows) if self.encoding == "onehot" else numbered(stack, rows, Ordinal())

    def predict(self, lesson: Lesson) -> Floats:
        predictions = super().predict(lesson).astype(np.float64)
        if predictions.ndim == 1:
            return predictions
        # In float32 the probabilities of a row add up to 1 within a millionth, and metrics compare in float64.
        return np.asarray(predictions / predictions.sum(axis=1, keepdims=True))


@cache
def find_class(name: str) -> type[Any]:
    """The class of this dotted name.

    Raises:
        UsageError: its package is not installed, or it is no estimator.
    """
    place, _, last = name.rpartition(".")
    package = place.partition(".")[0]
    try:
        # A file beside the table is no installed package.
        if not place or not (package in sys.modules or package in packages_distributions()):
            raise ImportError(f"{package or name} is not installed")
        cls: type[Any] = getattr(importlib.import_module(place), last)
    except Exception as error:
        raise UsageError(
            f"method.estimator={name}: {error}; name a class of an installed package, as in sklearn.svm.SVC."
        ) from error
    if not all(hasattr(cls, method) for method in INTERFACE):
        raise UsageError(f"method.estimator={name} is no estimator: it needs {', '.join(INTERFACE)}.")
    return cls


def numbered(stack: "Stack", rows: Ints, encoding: Ordinal) -> Floats:
    """``rows`` ``(1, n)`` of a stack of one, imputed and scaled, with a number for each category."""
    features: Floats = stack.raw(rows)[0].double().cpu().numpy()
    for m, column in enumerate(stack.table.columns):
        if column.is_categorical:
            # An encoding may number the categories in another order than the table does.
            codes = codes_in(column, encoding.column(column).categories or ())
            features[:, m] = codes[features[:, m].astype(np.int64)]
    return features


def typed(stack: "Stack", rows: Ints) -> "pd.DataFrame":
    """``rows`` ``(1, n)`` of a stack of one, imputed and scaled; columns of categories have pandas's type for them."""
    import pandas as pd

    frame = pd.DataFrame(stack.raw(rows)[0].double().cpu().numpy())
    frame.columns = pd.Index([f"x{place}" for place in range(frame.shape[1])])
    for name, n_categories in zip(frame.columns, stack.table.n_categories, strict=True):
        if n_categories:
            # All categories of the table, also those that these rows lack: codes must mean the same in both parts.
            kind = pd.CategoricalDtype(list(range(n_categories)))
            frame[name] = frame[name].astype("int64").astype(kind)
    return frame


@dataclass
class CatBoost(Rival):
    """CatBoostClassifier or CatBoostRegressor on typed columns.

    CatBoost chooses the options that are None; its learning rate depends on rows and iterations only if ``l2_leaf_reg``
    is None too. It does not validate.
    """

    name: ClassVar[str] = "catboost"
    models = ("catboost.CatBoostClassifier", "catboost.CatBoostRegressor")
    typical_seconds: ClassVar[tuple[float, float]] = (2.0, 2.0)
    package: ClassVar[str] = "catboost"
    label: ClassVar[str] = "CatBoost"
    paper: ClassVar[str] = "Prokhorenkova et al., 2018, arXiv:1706.09516"
    iterations: int = option(1000, "number of trees", "[1, 1000000]")
    depth: int = option(6, "depth of a tree", "[1, 16]")
    learning_rate: float | None = option(
        None, "shrinkage of a tree; null chooses by rows and iterations if l2_leaf_reg is null too", "(0, 1]"
    )
    l2_leaf_reg: float | None = option(None, "L2 penalty of leaf values; null is 3", "[0, inf)")

    def predict(self, lesson: Lesson) -> Floats:
        train = self.features(lesson.stack, lesson.stack.data.labelled)
        # CatBoost refuses to learn from constants, so a mean is predicted.
        return Constant().predict(lesson) if (train.nunique() < 2).all() else super().predict(lesson)

    def arguments(self, lesson: Lesson) -> dict[str, Any]:
        # CatBoost chooses the options that are left out.
        options = {name: value for name, value in vars(self).items() if value is not None}
        return options | {
            "cat_features": np.flatnonzero(lesson.stack.table.is_categorical).tolist(),
            "random_seed": lesson.seed,
            "thread_count": 1,
            # Else it leaves a folder of its own in the working folder.
            "allow_writing_files": False,
            "logging_level": "Silent",
        }

    def features(self, stack: "Stack", rows: Ints) -> "pd.DataFrame":
        return typed(stack, rows)
