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
