import type { Install } from './install.ts';

/** What can be run with but is probably not meant, one line each. */
export function warningsOfInstalls(installs: ReadonlyMap<string, Install>, publicUrl: string | undefined): string[] {
  if (installs.size === 0) {
    return ['Nobody is connected, so every delivery is refused: gangway connect <a name for them>'];
  }
  if (publicUrl === undefined) return [];
  return [...installs]
    .filter(([, { webhookSecrets }]) => webhookSecrets.length === 0)
    .map(
      ([name]) => `No webhook secret of ${name} is known, so every delivery to it is refused: gangway connect ${name}`,
    );
}
