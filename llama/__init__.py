"""A local LLM server: GGUF models behind the OpenAI completions and chat-completions API."""
