import { registerHooks } from 'node:module';

/** Prints on stderr, when the process ends, what it has loaded: one address a line. */
const loaded = new Set<string>();

registerHooks({
  load(url, context, next) {
    loaded.add(url);
    return next(url, context);
  },
});

process.on('exit', () => process.stderr.write([...loaded].join('\n')));
