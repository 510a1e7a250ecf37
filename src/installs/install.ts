import type { SourceKind } from '../domain/source-kind.ts';

/** A customer's connection, from the configuration or, connected by command, from the database. */
export interface Install {
  source: SourceKind;
  /** A platform token, or a personal token of an employer. */
  token: string;
  /** Of an employer's own account: the project by the id of the job, as configured. */
  jobs: ReadonlyMap<string, string>;
  /** Every secret with which deliveries may be signed. */
  webhookSecrets: readonly string[];
  /** The name of the tool. */
  tool: string;
  /** Project ids, or `prefix*`: the only projects in which it may act (docs/design.md, Memberships). */
  projects: readonly string[];
  /** Whether the guidelines of its projects follow its manuals by themselves. */
  guidelines: boolean;
  livesIn: 'configuration' | 'database';
}

/** What an install has that is a platform's. */
export const ofPlatform: Pick<Install, 'source' | 'jobs' | 'guidelines'> = {
  source: 'platform',
  jobs: new Map(),
  guidelines: false,
};

/** Settings that are valid but probably a mistake, one line each. */
export function warningsOfInstalls(installs: ReadonlyMap<string, Install>, publicUrl: string | undefined): string[] {
  if (installs.size === 0) {
    return ['No customer is connected, so every delivery is refused: gangway connect <a name for them>'];
  }
  if (publicUrl === undefined) return [];
  return [...installs]
    .filter(([, { webhookSecrets }]) => webhookSecrets.length === 0)
    .map(
      ([name]) => `No webhook secret of ${name} is known, so every delivery to it is refused: gangway connect ${name}`,
    );
}
