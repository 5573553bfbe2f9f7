"""What is measured on the test rows of a trial."""

import numpy as np
from numpy.typing import NDArray


def classification_metrics(probabilities: NDArray[np.float64], labels: NDArray[np.int64]) -> dict[str, float]:
    """Metrics of one trial.

    Args:
        probabilities: class probabilities, ``(n, C)``.
        labels: class numbers, ``(n,)``.

    Returns:
        ``accuracy``; ``balanced_accuracy``, mean recall over the classes present; ``log_loss`` over all classes, in
        nats; ``auroc``, mean one-vs-rest area over the classes with both signs, NaN when fewer than two classes occur.
    """
    from sklearn.metrics import log_loss, roc_auc_score

    predicted = probabilities.argmax(axis=1)
    present = np.unique(labels)
    recalls = [float((predicted[labels == c] == c).mean()) for c in present]
    areas = [roc_auc_score(labels == c, probabilities[:, c]) for c in present if len(present) > 1]
    return {
        "accuracy": float((predicted == labels).mean()),
        "balanced_accuracy": float(np.mean(recalls)),
        "log_loss": float(log_loss(labels, probabilities, labels=np.arange(probabilities.shape[1]))),
        "auroc": float(np.mean(areas)) if areas else float("nan"),
    }
