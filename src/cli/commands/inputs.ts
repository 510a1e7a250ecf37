import { builtInAdapters } from '../../adapters/built-in-adapters.ts';
import { configFileName } from '../../config/find-configuration.ts';
import { jobRule, nameRule, projectRule } from '../../config/text-rules.ts';
import {
  argument,
  flag,
  keepsTo,
  option,
  repeatedOption,
  toDomain,
  toWholeNumber,
  wait,
  withDefault,
} from '../options.ts';

/** What the larger commands take. Here and not beside their code, which is loaded only when they run. */

export const initOptions = {
  config: withDefault('<file>', 'The file to write', configFileName),
  install: option('<name>', 'Write an install of this name into it, instead of connecting it by command later'),
  publicUrl: option('<url>', 'Where the marketplace reaches this machine'),
  marketplaceUrl: option('<url>', 'The address of another marketplace, such as a sandbox'),
  employer: flag('You hire people with your own account, not your customers with theirs'),
  tool: withDefault('<adapter>', `${builtInAdapters.join(', ')}, a file or a package`, 'roster'),
  offboarding: option('<choice>', 'What a removal does in the tool, if there is a choice'),
  force: flag('Replace a configuration that is already there'),
};

export const connectArguments = {
  install: withDefault('[install]', 'Your name for the customer or the account', 'default', keepsTo(nameRule)),
};

export const connectOptions = {
  employer: flag('It is your own account at the marketplace, with a personal token, and no platform of a customer'),
  register: flag('Register an account of your own, which a person claims by a link; then connect it'),
  job: repeatedOption(
    '<job=project>',
    'With --employer: whose people work in which project, such as job_1=street-signs; may be repeated',
    keepsTo(jobRule),
  ),
  tokenFile: option('<file>', 'The file with the token; without it, the token is asked for'),
  tool: option('<name>', 'The tool of the configuration that gets the people'),
  projects: option('<patterns>', 'The projects of the customer: ids or prefix*, separated by commas', toPatterns),
  yes: flag('Link projects again without asking'),
  move: flag('Have events delivered here that are delivered elsewhere now'),
  acceptOrphans: flag('Go on although the configuration no longer covers people who are in a tool: they are kept'),
  acceptOtherCustomer: flag(
    'Go on although the install belonged to another customer, whose people are then removed after a grace period',
  ),
  wait: wait('How long to wait for the tool at most'),
};

export const startOptions = {
  acceptOrphans: flag('Start although the configuration no longer covers people who are in a tool: they are kept'),
  restored: flag('The database comes from a backup: read the marketplace before acting on what is stored'),
  move: flag('The database was copied here, and nothing runs on the other one any more'),
};

export const tryOptions = {
  employer: flag(
    'As an employer with an account of their own, without any webhook, instead of as an annotation platform',
  ),
  exit: flag('Stop after the tour, with status 0 if it went well'),
};

export const doctorOptions = {
  rehearse: flag('Add a made-up person to a group of a tool, and remove them again'),
  tool: option('<name>', 'The tool to rehearse with'),
  group: option('<id>', 'The group to rehearse in'),
  emailDomain: withDefault('<domain>', 'The domain of the made-up address', 'example.com', toDomain),
  upgrade: flag('Only say what the first start of this version changes'),
};

export const testArguments = { file: argument('[file]', 'An adapter in a file, instead of a configured tool') };

export const testOptions = {
  tool: option('<name>', 'A tool of the configuration'),
  settings: option('<file>', 'JSON: what would stand under "tools.<name>", for the file'),
  group: repeatedOption('<id>', 'A group to add them to; name two that exist'),
  crowd: option('<people>', 'Add so many at once: more than the tool shows on a page', toCrowd),
  emailDomain: withDefault('<domain>', 'The domain of their addresses', 'example.com', toDomain),
  yes: flag('Do it: without this it says what it would do'),
};

export const importArguments = {
  file: argument('<file>', 'A .csv or .ndjson; "gangway usage template" prints one to start from'),
};

export const importOptions = {
  install: option('<name>', 'Of which install, where there are several'),
  yes: flag('Do not ask'),
};

function toPatterns(text: string): string[] {
  return text.split(',').map((pattern) => keepsTo(projectRule)(pattern.trim()));
}

function toCrowd(text: string): number {
  return toWholeNumber(text, 2, 2000);
}
