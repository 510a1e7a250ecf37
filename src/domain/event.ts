/** What a delivery means, in Gangway's terms (spec: platform-api.md section 6, part A section 6). */

/** What the platform API delivers. */
export const platformEventTypes = [
  'contract.started',
  'contract.ended',
  'project_link.created',
  'project_link.removed',
  'install.revoked',
  'milestone.funded',
  'milestone.budget_low',
  'milestone.budget_depleted',
] as const;

/** What an employer's account delivers and is of use. Such an event names ids alone: it has something read. */
export const employerEventTypes = [
  'contract.created',
  'approval.confirmed',
  'milestone.status_changed',
  'contract.budget_state_changed',
  'payment.pending',
] as const;

export type EventType = (typeof platformEventTypes | typeof employerEventTypes)[number];

/** All that is understood, whichever source delivers it. */
export const eventTypes: readonly EventType[] = [...platformEventTypes, ...employerEventTypes];

export function isEventType(type: string): type is EventType {
  return (eventTypes as readonly string[]).includes(type);
}

/** Everything but `type` and `resourceId` may be missing. A missing value is null. */
export interface LifecycleEvent {
  id: string | null;
  type: EventType;
  /** When the marketplace says it happened. */
  createdAt: string | null;
  /** The id of the contract, link, install, milestone, approval or invoice, depending on `type`. */
  resourceId: string;
  contract: EventContract | null;
  trainer: { id: string | null; displayName: string | null; workEmail: string | null } | null;
  link: EventLink | null;
}

export interface EventContract {
  id: string;
  title: string | null;
  /** An instant, or null. */
  startDate: string | null;
}

export interface EventLink {
  id: string;
  externalProjectId: string | null;
  externalProjectName: string | null;
  provisioningMode: string | null;
}
