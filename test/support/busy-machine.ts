/** The time that a busy machine may need in addition to a bound of the service. */
export const busyMachineMs = 5_000;

/** The timeout for events that must happen but have no promised time: longer than any busy machine needs. */
export const givenUpMs = 60_000;
