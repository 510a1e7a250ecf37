import type { LinkEvidence } from './evidence.ts';

/** A group of a tool. */
export interface Route {
  tool: string;
  groupId: string;
}

/** What a link says about where its trainers belong. */
export type RoutedLink = Pick<LinkEvidence, 'install' | 'externalProjectId' | 'externalProjectName'>;

/** The group where the trainers of a link belong; undefined if the link gives no access. Never throws. */
export type RouteLink = (link: RoutedLink) => Route | undefined;

/** A customer's connection, from the configuration or, if connected by command, from the database. */
export interface Install {
  source: SourceKind;
  /** A platform token, or a personal token of an employer. */
  token: string;
  /** For an employer's own account: the configured project by the id of the job. */
  jobs: ReadonlyMap<string, string>;
  /** The secrets that may sign deliveries. */
  webhookSecrets: readonly string[];
  /** The name of the tool. */
  tool: string;
  /** The only projects in which it may act: ids, or `prefix*`. */
  projects: readonly string[];
  /** Whether Gangway writes its manuals into the guidelines of its projects. */
  guidelines: boolean;
  livesIn: 'configuration' | 'database';
}

/** `platform`: a platform that a customer has installed. `employer`: an employer's own account. */
export const sourceKinds = ['platform', 'employer'] as const;

export type SourceKind = (typeof sourceKinds)[number];
