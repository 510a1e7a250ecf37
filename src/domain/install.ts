import type { LinkEvidence } from './evidence.ts';

/** A group of a tool. */
export interface Route {
  tool: string;
  groupId: string;
}

/** A link as far as it says where its trainers belong. */
export type RoutedLink = Pick<LinkEvidence, 'install' | 'externalProjectId' | 'externalProjectName'>;

/** The group where the trainers of a link belong; undefined if the link gives no access. Never throws. */
export type RouteLink = (link: RoutedLink) => Route | undefined;

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
  /** Project ids, or `prefix*`: the only projects in which it may act. */
  projects: readonly string[];
  /** Whether the guidelines of its projects follow its manuals by themselves. */
  guidelines: boolean;
  livesIn: 'configuration' | 'database';
}

/** `platform`: a platform that a customer has installed. `employer`: an employer's own account. */
export const sourceKinds = ['platform', 'employer'] as const;

export type SourceKind = (typeof sourceKinds)[number];
