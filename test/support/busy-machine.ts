/** What a machine that is busy with other tests may take beyond a bound of the service's own. */
export const busyMachineMs = 5_000;

/** When a test gives up what must come to be and is no promise in itself: longer than any busy machine takes. */
export const givenUpMs = 60_000;
