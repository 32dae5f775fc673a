/** Endings of access that take more than one commit lie here until they are complete. */
export const accessEndingsSpace = 'service:access-endings';

/** The id of the deletion of a user. */
export function deletionId(user: string): string {
  return `delete.${user}`;
}
