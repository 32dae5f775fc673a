/** Preloaded into a command (`node --import`), it moves the clock forward by `LATER_MS` milliseconds. */
const laterMs = Number(process.env.LATER_MS);
const now = Date.now;
Date.now = () => now() + laterMs;
