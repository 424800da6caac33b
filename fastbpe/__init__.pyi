from fastbpe.characters import CharTokenizer as CharTokenizer
from fastbpe.corpus.sources import documents as documents
from fastbpe.corpus.sources import files as files
from fastbpe.counts import ChunkCounts as ChunkCounts
from fastbpe.errors import DataError as DataError
from fastbpe.errors import DataWarning as DataWarning
from fastbpe.errors import FastbpeError as FastbpeError
from fastbpe.errors import FormatError as FormatError
from fastbpe.errors import MemoryBoundError as MemoryBoundError
from fastbpe.errors import ParameterError as ParameterError
from fastbpe.errors import PatternError as PatternError
from fastbpe.formats import load as load
from fastbpe.pattern.splitter import Splitter as Splitter
from fastbpe.pipeline.characters import train_characters as train_characters
from fastbpe.pipeline.count import count_chunks as count_chunks
from fastbpe.pipeline.encode import encode_dataset as encode_dataset
from fastbpe.pipeline.extend import extend as extend
from fastbpe.pipeline.train import train as train
from fastbpe.shards import TokenShards as TokenShards
from fastbpe.tokenizer import Tokenizer as Tokenizer

__version__: str
