/** The events of the platform API (spec: platform-api.md section 6, part A section 6). */
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

/** The events of an employer's account that Gangway uses. Each only names ids, to be read. */
export const employerEventTypes = [
  'contract.created',
  'approval.confirmed',
  'milestone.status_changed',
  'contract.budget_state_changed',
  'payment.pending',
] as const;

export type EventType = (typeof platformEventTypes | typeof employerEventTypes)[number];

export const eventTypes: readonly EventType[] = [...platformEventTypes, ...employerEventTypes];

export function isEventType(type: string): type is EventType {
  return (eventTypes as readonly string[]).includes(type);
}

/** What a delivery means. Everything but `type` and `resourceId` may be missing, and is null then. */
export interface LifecycleEvent {
  id: string | null;
  type: EventType;
  /** When it happened, according to the marketplace. */
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
  startDate: string | null;
}

export interface EventLink {
  id: string;
  externalProjectId: string | null;
  externalProjectName: string | null;
  provisioningMode: string | null;
}
