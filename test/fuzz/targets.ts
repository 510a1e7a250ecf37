import { configurations } from './borders/configurations.ts';
import { consoleRequests } from './borders/console-requests.ts';
import { csvAnswers, importedWork } from './borders/csv-files.ts';
import { cursors } from './borders/cursors.ts';
import { eventBodies } from './borders/event-bodies.ts';
import { httpAnswers } from './borders/http-answers.ts';
import { employerApi, platformApi } from './borders/marketplace-answers.ts';
import { projectIds } from './borders/project-ids.ts';
import { rosterFiles } from './borders/roster-files.ts';
import { sealedValues, sessionCookies } from './borders/sealed-values.ts';
import { signatureHeader } from './borders/signature-header.ts';
import { toolAnswers } from './borders/tool-answers.ts';
import type { Target } from './target.ts';

/** Every border. */
export const targets: readonly Target[] = [
  signatureHeader,
  eventBodies,
  projectIds,
  importedWork,
  csvAnswers,
  cursors,
  rosterFiles,
  sealedValues,
  sessionCookies,
  configurations,
  httpAnswers,
  platformApi,
  employerApi,
  ...toolAnswers,
  ...consoleRequests,
];
