"""One stretch's text to ids; what goes wrong there is told with the place in the source that it went wrong at."""

import numpy as np
import numpy.typing as npt

from fastbpe.errors import DataError, FastbpeError, MemoryBoundError, UnknownCharacterError
from fastbpe.pipeline.stretches import Int64s, Stretch
from fastbpe.threads import Stopped
from fastbpe.tokenizer import Tokenizer


def encode_stretch(tokenizer: Tokenizer, stretch: Stretch) -> tuple[npt.NDArray[np.uint32], Int64s]:
    """Ids of the stretch's spans, normalized as the tokenizer does, and where those of each span lie among them.

    Raises DataError for a character that the tokenizer does not have, MemoryBoundError when memory does not do, and
    FastbpeError for anything unforeseen.
    """
    data, spans = stretch.data, stretch.spans
    try:
        data, spans = stretch.normalized(tokenizer.model.normalizer)
        return tokenizer.encode_spans(data, spans)
    except UnknownCharacterError as error:
        at = error.offset
        if data is not stretch.data:  # offsets have moved: where its stretch of text begins
            at = int(stretch.spans[np.searchsorted(spans[:, 1], at, side="right"), 0])
        raise DataError(f"{stretch.address(at)}: {error.what}") from None
    except (FastbpeError, Stopped):
        raise
    except MemoryError:
        raise MemoryBoundError(
            f"{stretch.address(0)}: there is not enough memory to encode what begins there; use fewer threads, or cut "
            "the text into documents"
        ) from None
    except Exception as error:
        what = f"{type(error).__name__}: {error}".rstrip(": ")
        at = _failing(tokenizer, stretch, data, spans)
        raise FastbpeError(
            f"{stretch.address(at)}: cannot be encoded ({what}); please report it with the text"
        ) from error


def _failing(tokenizer: Tokenizer, stretch: Stretch, data: npt.NDArray[np.uint8], spans: Int64s) -> int:
    """Where in the stretch the document begins that cannot be encoded; 0 when each of them can, alone."""
    bounds = [0, *stretch.document_spans.tolist(), len(spans)]
    for first, last in zip(bounds, bounds[1:], strict=False):
        try:
            tokenizer.encode_spans(data, spans[first:last])
        except Exception:
            return int(stretch.spans[first, 0])
    return 0
