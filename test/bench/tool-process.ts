import { openSoakTool } from './soak-tool.ts';

/** A tool over HTTP in a process of its own, which answers at once. Asked for anything, it says its address. */
const tool = await openSoakTool();
process.on('message', () => process.send?.(tool.url));
