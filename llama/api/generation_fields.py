"""The fields of a request that say how much to generate, what to stop at, what binds it and how it is sent."""

from llama.api.adapters import scales_of_adapters
from llama.api.field import Field, anything, array, boolean, integer, list_of, mapping, number, text
from llama.api.sampling_fields import (
    LOGIT_BIAS,
    N_PROBS,
    SAMPLING_FIELDS,
    TOKEN_FIELDS,
    chat_logprobs,
    legacy_logprobs,
)

N_PREDICT = Field(
    "n_predict",
    integer(-1),
    "Tokens to generate at most; -1 = until the model ends or the context is full.",
    ("max_completion_tokens", "max_tokens"),
)
CONTROL_FIELDS = (
    Field("model", text(), "Any name; the answer repeats it."),
    N_PREDICT,
    Field("n", integer(1), "How many answers for each prompt.", ("n_cmpl",)),
    Field("stream", boolean(), "Send the answer as server-sent events."),
    Field("stream_options", mapping(), "include_usage: one more event with the usage."),
    Field("stop", list_of(text(), lone=True), "Texts at which to stop; they are not part of the answer."),
    Field("stop_token_ids", list_of(integer(0)), "Tokens at which to stop."),
    Field("include_stop_str_in_output", boolean(), "Leave the stop text in the answer."),
    Field("skip_special_tokens", boolean(), "false shows control tokens as text."),
    Field("cache_prompt", boolean(), "Reuse what earlier requests computed."),
    Field("n_keep", integer(-1), "Tokens kept when the context is shifted; -1 = the prompt."),
    Field("n_discard", integer(0), "Tokens dropped when the context is shifted; 0 = half."),
    Field("n_indent", integer(0), "Stop at a line that is indented by less."),
    Field("n_cache_reuse", integer(0), "Accepted; reuse is by exact prefix."),
    Field("backend_sampling", boolean(), "Accepted; there is one sampler."),
    Field("speculative.n_max", integer(0), "Accepted; nothing is drafted."),
    Field("speculative.n_min", integer(0), "Accepted; nothing is drafted."),
    Field("speculative.p_min", number(0, 1), "Accepted; nothing is drafted."),
    Field("t_max_predict_ms", integer(-1), "Time limit, looked at on line ends; -1 = none."),
    Field("id_slot", integer(-1), "Slot to use; -1 = any."),
    Field("return_progress", boolean(), "Report how much of the prompt was read."),
    Field("timings_per_token", boolean(), "Send timings with every event."),
    Field("sse_ping_interval", integer(-1), "Seconds of silence before a comment is sent; -1 = never."),
    Field("return_tokens", boolean(), "Native answers list their token ids."),
    Field("response_fields", list_of(text()), "Native answers keep only these fields; a/b picks a nested one."),
    Field("verbose", boolean(), "Add the native answer under __verbose."),
    Field("lora", scales_of_adapters(), "How strong each adapter is; those left out are not used."),
    Field("request_id", text(), "The id under which the request can be cancelled."),
)
CONSTRAINT_FIELDS = (
    Field("grammar", text(), "GBNF grammar that binds the answer."),
    Field("json_schema", anything(), "JSON Schema that binds the answer."),
    Field("grammar_lazy", boolean(), "The grammar binds only after a trigger."),
    Field("grammar_triggers", array(), "What makes a lazy grammar bind: [{type, value, token}]."),
    Field("preserved_tokens", array(), "Control tokens, by id or text, that are shown as text."),
    Field("structured_outputs", mapping(), "One of json, regex, choice, grammar, json_object."),
    Field("guided_json", anything(), "JSON Schema, as object or text."),
    Field("guided_regex", text(), "Regular expression that the whole answer matches."),
    Field("guided_choice", list_of(text()), "The answer is one of these texts."),
    Field("guided_grammar", text(), "GBNF grammar."),
    Field("response_format", mapping(), "text, json_object or json_schema, with its schema."),
)
PROMPT_LOGPROBS = Field(
    "prompt_logprobs", integer(0, 20), "Report the prompt's log-probabilities too, with so many alternatives a token."
)
COMMON_FIELDS = (*CONTROL_FIELDS, *SAMPLING_FIELDS, *TOKEN_FIELDS, LOGIT_BIAS, *CONSTRAINT_FIELDS)
TEXT_FIELDS = (
    *COMMON_FIELDS,
    Field("prompt", anything(), "Text, token ids, both mixed, or an array of several of these."),
    Field("logprobs", legacy_logprobs(), "Report log-probabilities of the answer and of so many alternatives."),
    PROMPT_LOGPROBS,
    Field("echo", boolean(), "The answer begins with the prompt."),
    Field("suffix", text(), "Text after the answer; the model needs fill-in-the-middle tokens."),
    Field("best_of", integer(1), "Generate so many answers, return the most probable n."),
    Field("add_special_tokens", boolean(), "Add the model's own tokens around text prompts."),
    Field("user", text(), "Accepted."),
)
NATIVE_FIELDS = (
    *COMMON_FIELDS,
    N_PROBS,
    Field("prompt", anything(), "Text, token ids, both mixed, or an array of several of these."),
)
INFILL_FIELDS = (
    *COMMON_FIELDS,
    N_PROBS,
    Field("input_prefix", text(), "The text before the gap."),
    Field("input_suffix", text(), "The text after the gap."),
    Field("input_extra", anything(), "Other files: [{filename, text}]."),
    Field("prompt", anything(), "Text added to the prefix."),
)
CHAT_FIELDS = (
    *COMMON_FIELDS,
    Field("messages", anything(), "The conversation."),
    Field("logprobs", chat_logprobs(), "Report log-probabilities."),
    Field("top_logprobs", integer(0, 20), "So many alternatives with each token."),
    PROMPT_LOGPROBS,
    Field("n_probs", integer(0), "The same, with llama-server's name."),
    Field("tools", array(), "Functions that the model may call."),
    Field("tool_choice", anything(), "auto, none, required, or the function to call."),
    Field("functions", array(), "Functions, in OpenAI's first form."),
    Field("function_call", anything(), "auto, none, or the function to call, in OpenAI's first form."),
    Field("parallel_tool_calls", boolean(), "Several calls in one answer."),
    Field("chat_template_kwargs", mapping(), "Variables for the template."),
    Field("enable_thinking", boolean(), "Whether the model may think."),
    Field("add_generation_prompt", boolean(), "End the prompt with the beginning of the answer."),
    Field("continue_final_message", anything(), "Continue the last message instead of answering it."),
    Field("reasoning_format", text("none", "auto", "deepseek", "deepseek-legacy"), "Where thoughts go."),
    Field("reasoning_effort", text(), "How much to think; none = not at all."),
    Field(
        "thinking_budget_tokens",
        integer(-1),
        "Tokens a thought may have; -1 = no limit.",
        ("reasoning_budget_tokens", "thinking_token_budget"),
    ),
    Field("thinking_forced_open", boolean(), "The answer begins inside the thought."),
    Field("reasoning_control", boolean(), "Let /v1/chat/completions/control end the thought."),
    Field("parse_tool_calls", boolean(), "false leaves calls in the content."),
    Field("user", text(), "Accepted."),
    Field("metadata", mapping(), "Accepted."),
)
