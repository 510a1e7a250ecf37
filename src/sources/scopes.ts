/** Whether a scope is granted. The right to write includes the right to read. */
export function isGranted(granted: readonly string[], scope: string): boolean {
  return granted.includes(scope) || granted.includes(scope.replace(/:read$/, ':write'));
}
