/** Stores endings of access that take more than one commit until they are complete. */
export const accessEndingsSpace = 'service:access-endings';

/** The id of the marker of a user deletion. */
export function deletionId(user: string): string {
  return `delete.${user}`;
}
