// Any version of Node.js must be able to read this file, so it imports nothing and uses no recent syntax.
const needed = [22, 18];
const [major, minor] = process.versions.node.split('.').map(Number);

if (major < needed[0] || (major === needed[0] && minor < needed[1])) {
  process.stderr.write(
    `gangway: Gangway needs Node.js ${needed.join('.')} or newer, and this is ${process.version} (${process.execPath}). Install a newer one, or put it first in PATH.\n`,
  );
  process.exit(1);
}
