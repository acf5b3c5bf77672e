"""The fields of the small endpoints: tokens, embeddings, rerank, slots."""

from llama.api.field import Field, anything, array, boolean, integer, list_of, text

TOKENIZE_FIELDS = (
    Field("content", anything(), "Text, or an array of texts and token ids."),
    Field("prompt", anything(), "The same, by vLLM's name."),
    Field("add_special", boolean(), "Add the model's own tokens around the text.", ("add_special_tokens",)),
    Field("parse_special", boolean(), "Read control tokens in the text; true unless said otherwise."),
    Field("with_pieces", boolean(), "Tell the text of each token."),
    Field("return_token_strs", boolean(), "The same, in vLLM's form."),
)
DETOKENIZE_FIELDS = (Field("tokens", list_of(integer(0)), "Token ids."),)
EMBEDDING_FIELDS = (
    Field("model", text(), "Any name; the answer repeats it."),
    Field("input", anything(), "Text, token ids, or an array of several of these.", ("content",)),
    Field("encoding_format", text("float", "base64"), "How vectors are written."),
    Field("embd_normalize", integer(-1), "Norm: -1 none, 0 largest = 32760, 1 sum, 2 Euclid, N the p-norm."),
)
RERANK_FIELDS = (
    Field("model", text(), "Any name; the answer repeats it."),
    Field("query", text(), "What the documents should answer."),
    Field("documents", list_of(text()), "The documents."),
    Field("texts", list_of(text()), "The same, in TEI's form."),
    Field("top_n", integer(0), "How many to return."),
    Field("return_text", boolean(), "TEI's form: repeat the texts."),
)
STREAM_FIELDS = (Field("conversation_ids", list_of(text()), "Conversations that the caller knows."),)
PREDICT_FIELDS = (
    Field("instances", array(), "Bodies of requests, each with @requestFormat: chatCompletions, or a path."),
)
SLOT_FIELDS = (Field("filename", text(), "Name of the file below --slot-save-path."),)
CONTROL_FIELDS = (
    Field("id", text(), "The id of the running completion."),
    Field("action", text(), "reasoning_end ends the thought."),
)
