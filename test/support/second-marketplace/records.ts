/** What the second marketplace keeps (spec: platform-api.md). Instants are ISO 8601 texts. */

export interface Person {
  opentrainUserId: string;
  displayName: string;
  country: string;
  profileUrl: string;
  workEmail: string;
}

export interface WorkDay {
  totalSeconds: number;
  tasksCompleted: number;
  labelsCompleted: number;
}

export interface BudgetRecord {
  paymentType: 'PAY_PER_HOUR' | 'PAY_PER_LABEL' | 'FIXED_PRICE' | null;
  milestone: { id: string; name: string; amountUsd: number; volume: number; status: string } | null;
  /** By worker and day. */
  reported: Map<string, WorkDay>;
  lastUsageAt: string | null;
  /** The level that an event last announced. New funding sets it back. */
  announced: 'OK' | 'LOW' | 'DEPLETED';
}

export interface ContractRecord {
  /** Later ones have greater ones: the order of listings. */
  sequence: number;
  id: string;
  job: JobRecord;
  title: string;
  status: 'active' | 'ended';
  startDate: string;
  endDate: string | null;
  createdAt: string;
  people: Person[];
  budget: BudgetRecord;
}

export interface JobRecord {
  id: string;
  organizationId: string;
  /** Oldest first, by sequence, so that a page of the newest is cut from the end. */
  contracts: Record<ContractRecord['status'], ContractRecord[]>;
}

export interface LinkRecord {
  id: string;
  jobId: string | null;
  externalProjectId: string;
  externalProjectName: string | null;
  externalProjectUrl: string | null;
  provisioningMode: string;
  createdAt: string;
}

export interface EndpointRecord {
  id: string;
  url: string;
  eventTypes: string[];
  status: 'ACTIVE' | 'DISABLED';
  createdAt: string;
  consecutiveFailures: number;
  disabledAt: string | null;
  disabledReason: string | null;
  secret: string;
  deliveries: Delivery[];
}

export interface Delivery {
  id: string;
  endpoint: EndpointRecord;
  type: string;
  body: string;
  status: 'PENDING' | 'DELIVERED' | 'FAILED';
  attempts: number;
  /** Unix milliseconds. */
  dueAt: number;
}

export interface InstallRecord {
  id: string;
  status: 'ACTIVE' | 'REVOKED';
  scopes: string[];
  piiConsent: boolean;
  organizationId: string;
  createdAt: string;
  token: { id: string; name: string; value: string; isLive: boolean };
  links: Map<string, LinkRecord>;
  endpoints: Map<string, EndpointRecord>;
}
