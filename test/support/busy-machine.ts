/** What a machine that is busy with other tests may take beyond a bound of the service's own. */
export const busyMachineMs = 5_000;
