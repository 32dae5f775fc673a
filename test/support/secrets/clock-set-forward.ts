/** Preloaded into a command (`node --import`), it lets that run so many milliseconds later, as `LATER_MS` says. */
const laterMs = Number(process.env.LATER_MS);
const now = Date.now;
Date.now = () => now() + laterMs;
