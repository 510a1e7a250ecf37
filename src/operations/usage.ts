import { group } from './operation.ts';
import { check, recount } from './usage-check.ts';
import { assign, discard, dismiss, held, send, takeBack } from './usage-held.ts';
import { importFile, imports, undo } from './usage-imports.ts';
import { preview, report } from './usage-report.ts';
import { show } from './usage-show.ts';

/** The work done in the tools, and what is reported of it to the marketplace. */
export const operations = group('usage', {
  show,
  check,
  recount,
  preview,
  report,
  held,
  assign,
  discard,
  'take-back': takeBack,
  send,
  dismiss,
  imports,
  undo,
  import: importFile,
});
