import type { Command } from 'commander';
import type { Printed } from './define-command.ts';
import { defaultVerbs } from './operation-commands.ts';

/** What can follow a part of a command line, such as ` plans approve`. */
interface Place {
  path: string;
  offers: Offer[];
}

type Offer = [word: string, description: string];

type Shell = 'bash' | 'zsh' | 'fish';

/** `gangway completion`: a script with the commands of this version, which runs no program while one types. */
export function runCompletion({ shell }: { shell: Shell }, program: Command): Printed {
  const script = scripts[shell](placesOf(program, '', []));
  return { data: { shell, script }, text: () => script };
}

function placesOf(command: Command, path: string, inherited: Offer[]): Place[] {
  const help = command.createHelp();
  const commands = help.visibleCommands(command).filter((one) => one.name() !== 'help');
  const all = [...new Map([...inherited, ...optionsOf(command)])];
  const usual = commands.find((one) => defaultVerbs.has(one.name()));
  const offers: Offer[] = [
    ...commands.map((one): Offer => [one.name(), help.subcommandDescription(one)]),
    ...command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices.map((choice): Offer => [choice, ''])),
    ...new Map([...all, ...(usual === undefined ? [] : optionsOf(usual))]),
  ];
  return [{ path, offers }, ...commands.flatMap((one) => placesOf(one, `${path} ${one.name()}`, all))];
}

function optionsOf(command: Command): Offer[] {
  const help = command.createHelp();
  return help.visibleOptions(command).map((option) => [option.long ?? option.flags, help.optionDescription(option)]);
}

/** The same steps in each language: the words that name a command lead to a place. */
const scripts: Record<Shell, (places: Place[]) => string> = {
  bash: (places) => `# In ~/.bashrc: source <(gangway completion bash)
_gangway() {
  local at= words= i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at \${COMP_WORDS[i]}" in
    ${pathsOf(places).join('|')}) at="$at \${COMP_WORDS[i]}" ;;
    esac
  done
  case "$at" in
${places.map(({ path, offers }) => `  ${quote(path)}) words=${quote(wordsOf(offers))} ;;`).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _gangway gangway`,

  zsh: (places) => `#compdef gangway
# In ~/.zshrc, after compinit: source <(gangway completion zsh)
_gangway() {
  local at= word
  local -a offers
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$at $word" in
    ${pathsOf(places).join('|')}) at="$at $word" ;;
    esac
  done
  case "$at" in
${places.map(({ path, offers }) => `  ${quote(path)}) offers=(${offers.map(toZsh).join(' ')}) ;;`).join('\n')}
  esac
  _describe gangway offers || _files
}
compdef _gangway gangway`,

  fish: (places) => `# In ~/.config/fish/config.fish: gangway completion fish | source
function __gangway
  set -l at ''
  for word in (commandline -opc)[2..-1]
    switch "$at $word"
      case ${pathsOf(places).join(' ')}
        set at "$at $word"
    end
  end
  switch "$at"
${places.map(({ path, offers }) => `    case ${quote(path)}\n      printf '%s\\t%s\\n' ${offers.flat().map(quote).join(' ')}`).join('\n')}
  end
end
complete -c gangway -f -a '(__gangway)'`,
};

function pathsOf(places: Place[]): string[] {
  return places.filter(({ path }) => path !== '').map(({ path }) => quote(path));
}

function wordsOf(offers: Offer[]): string {
  return offers.map(([word]) => word).join(' ');
}

function toZsh([word, description]: Offer): string {
  return quote(`${word.replaceAll(':', '\\:')}:${description}`);
}

/** All three shells read this as the text. */
function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
