import { account, identity, openapi, team, tokens } from './account.ts';
import { changesets } from './changesets.ts';
import { approvals, contracts, credits, milestones, payments } from './contracts.ts';
import { updates, webhooks } from './events.ts';
import { freelancers, proposals } from './hiring.ts';
import { instructions, manuals, pages, permissions, publications, workspaces } from './instructions.ts';
import { drafts, jobs } from './jobs.ts';
import { messages, messaging } from './messages.ts';
import type { Listed, Operation } from './operation.ts';
import { installs, platformContracts, platformOpenapi, projectLinks, webhookEndpoints } from './platform.ts';

/** Every operation of the specification. */
export const operations: readonly Operation[] = [
  { identity, tokens, account },
  { drafts, jobs, proposals, freelancers },
  { contracts, milestones, approvals, credits, payments, team },
  { webhooks, updates, messages, messaging },
  { instructions, workspaces, permissions, manuals, pages, changesets, publications },
  { openapi, installs, projectLinks, platformContracts, webhookEndpoints, platformOpenapi },
].flatMap((families) => Object.values<Record<string, Operation>>(families).flatMap(Object.values<Operation>));

/** What the specification names, and nothing more. */
export const listed: readonly Listed[] = [
  { family: 'project-todos', what: 'to-dos of a project', section: 'A 4' },
  { family: 'retraining', what: 'retraining', section: 'A 4' },
  { family: 'previews', what: 'hosted previews', section: 'A 4' },
  { family: 'reviewer-feedback', what: 'feedback of reviewers', section: 'A 4' },
  { family: 'task-checklists', what: 'checklists of tasks', section: 'A 4' },
  { family: 'assets', what: 'private assets of manuals', section: 'B 4.1' },
  { family: 'manual-search', what: 'search in manuals', section: 'B 4.1' },
  { family: 'renders', what: 'renders of manuals', section: 'B 4.1' },
  { family: 'consent', what: 'the consent flow of an install', section: 'B 5' },
];
