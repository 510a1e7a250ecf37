import type { Install } from '../domain/install.ts';

/** What an install has that is a platform's. */
export const ofPlatform: Pick<Install, 'source' | 'jobs' | 'guidelines'> = {
  source: 'platform',
  jobs: new Map(),
  guidelines: false,
};

/** Settings that are valid but probably a mistake, one line each. */
export function warningsOfInstalls(installs: ReadonlyMap<string, Install>, publicUrl: string | undefined): string[] {
  if (installs.size === 0) {
    return ['No customer is connected, so every webhook is refused. Run gangway connect <name>'];
  }
  if (publicUrl === undefined) return [];
  return [...installs]
    .filter(([, { webhookSecrets }]) => webhookSecrets.length === 0)
    .map(([name]) => `No webhook secret of ${name} is known, so its webhooks are refused. Run gangway connect ${name}`);
}
