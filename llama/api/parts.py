"""What a loaded model consists of, seen from the API: engine's share, templates, trie, defaults, description."""

import hashlib
import logging
import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from llama.api.adapters import Adapters
from llama.api.defaults import native_defaults, openai_defaults
from llama.api.guard import control_pattern
from llama.api.overrides import metadata_overrides
from llama.api.parse import Defaults
from llama.chat import Templates, load_templates
from llama.engine.model import Loaded
from llama.grammar import TokenTrie, compile_grammar
from llama.grammar.warming import Warming
from llama.modelfile import ModelFile
from llama.modelfile.source import find_adapters, find_model
from llama.models import Adapter, load_model
from llama.sampling import SamplingVocab
from llama.settings import Settings
from llama.tokenizer import Vocab, load_vocab

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Description:
    """What there is to say about a model file."""

    path: str = ""
    architecture: str = ""
    n_params: int = 0
    size: int = 0
    file_type: str = ""


@dataclass(frozen=True)
class Parts:
    """A model that is ready to serve."""

    loaded: Loaded
    templates: Templates
    native: Defaults
    openai: Defaults
    description: Description = Description()
    metadata: Mapping[str, object] = field(default_factory=dict)  # without arrays: the tokens alone are many megabytes
    warming: Warming = field(default_factory=Warming.done)
    adapters: Adapters = field(default_factory=Adapters)

    @property
    def vocab(self) -> Vocab:
        """The vocabulary."""
        return self.loaded.vocab

    @property
    def model(self) -> Any:
        """The model."""
        return self.loaded.model

    @cached_property
    def controls(self) -> re.Pattern[str]:
        """The texts of the control tokens."""
        texts = [self.vocab.text(token) for token in range(self.vocab.n_vocab) if self.vocab.is_control(token)]
        return control_pattern(texts)

    @cached_property
    def trie(self) -> TokenTrie:
        """The vocabulary as grammars see it. Waits while the matcher is being compiled beside us."""
        self.warming.wait()
        vocab = self.vocab
        padding = self.model.n_vocab - vocab.n_vocab  # some models have more logits than tokens
        pieces = [*vocab.pieces, *[b""] * max(0, padding)]
        return TokenTrie(pieces, vocab.eog, vocab.ids)

    def warm_up(self) -> None:
        """Make what the first requests would else wait for."""
        self.controls.search("")
        if not self.warming.running:
            compile_grammar('root ::= "a"').constraint(self.trie).mask()


def parts_of(
    settings: Settings,
    loaded: Loaded,
    metadata: Mapping[str, object] | None = None,
    description: Description | None = None,
) -> Parts:
    """The parts of a model that is loaded already."""
    metadata = metadata or {}
    templates = load_templates(settings, metadata, loaded.vocab)
    if templates.warning:
        log.warning("%s", templates.warning)
    return Parts(
        loaded=loaded,
        templates=templates,
        native=native_defaults(settings, metadata),
        openai=openai_defaults(settings, metadata),
        description=description or Description(),
        metadata={key: value for key, value in metadata.items() if isinstance(value, str | int | float)},
    )


def load_parts(settings: Settings) -> Parts:
    """Open and load the model that `settings` name. Raises ModelFileError, DownloadError, SettingsError."""
    path = find_model(settings)
    log.info("loading %s", path)
    warming = Warming.started() if settings.warmup else Warming.done()
    with ModelFile.open(path) as file, ExitStack() as stack:
        vocab = load_vocab(file.metadata)
        lora = [stack.enter_context(ModelFile.open(name)) for name in find_adapters(settings)]
        model = load_model(
            file,
            n_ctx=settings.ctx_size,
            kernels=settings.kernels,
            n_threads=max(0, settings.threads),
            type_k=settings.cache_type_k,
            type_v=settings.cache_type_v,
            overrides=metadata_overrides(settings, file.architecture),
            code_folder=None if settings.cache_dir is None else Path(settings.cache_dir) / "kernels",
            adapters=lora,
        )
        loaded = Loaded(model, vocab, sampling_vocab(vocab, model.n_vocab), fingerprint(file, lora))
        description = Description(
            path=str(path),
            architecture=file.architecture,
            n_params=file.n_params,
            size=file.size,
            file_type=file.file_type,
        )
        parts = replace(
            parts_of(settings, loaded, dict(file.metadata), description),
            warming=warming,
            adapters=served_adapters(settings, model.adapters),
        )
        if settings.warmup:
            parts.warm_up()
        return parts


def served_adapters(settings: Settings, adapters: Sequence[Adapter]) -> Adapters:
    """The adapters under the names that the settings have for them, as strong as the settings say."""
    named = [replace(adapter, path=name) for adapter, (name, _) in zip(adapters, settings.lora, strict=True)]
    return Adapters(named, [0.0 if settings.lora_init_without_apply else scale for _, scale in settings.lora])


def fingerprint(file: ModelFile, adapters: Sequence[ModelFile]) -> str:
    """Tells apart models, as far as their files' size and metadata do, and adapters by all they hold.

    What was saved of a text fits the model and the adapters that read it.
    """
    digest = hashlib.blake2b(repr((file.size, sorted(file.metadata.items()))).encode(), digest_size=16)
    for adapter in adapters:
        digest.update(repr(sorted(adapter.metadata.items())).encode())
        for tensor in adapter.tensors.values():
            digest.update(tensor.name.encode())
            digest.update(np.ascontiguousarray(tensor.data).data)
    return digest.hexdigest()


def sampling_vocab(vocab: Vocab, n_vocab: int) -> SamplingVocab:
    """The vocabulary as samplers see it."""
    return SamplingVocab(
        n_vocab=n_vocab,
        eog=vocab.eog,
        pieces=[vocab.piece(token) for token in range(vocab.n_vocab)],
        encode=lambda text: vocab.encode(text, add_special=False, parse_special=False),
        end=vocab.eot if vocab.eot is not None else vocab.eos,
        suppress=vocab.suppressed,
    )
