/** What the operator's own accounts do at the marketplace: jobs, approvals and claims. */
export const hires = `
create table posting (
  install TEXT not null,
  draft_key TEXT not null,
  project TEXT not null,
  title TEXT not null,
  drafted_at TEXT not null,
  job_id TEXT not null,
  missing TEXT not null,
  published_at TEXT,
  job_url TEXT,
  primary key (install, draft_key)
);
create index posting_of_job on posting (job_id);

create table approval (
  install TEXT not null,
  kind TEXT not null,
  subject TEXT not null,
  job_id TEXT,
  contract_id TEXT,
  asked_at TEXT not null,
  status TEXT not null,
  approval_id TEXT,
  url TEXT,
  expires_at TEXT,
  decided_at TEXT,
  primary key (install, kind, subject)
);

create table claim (
  install TEXT not null,
  secrets BYTES not null,
  expires_at TEXT not null,
  url TEXT,
  primary key (install)
);
`;
