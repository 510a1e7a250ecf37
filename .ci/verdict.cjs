// Judges the parts of .ci/run and .ci/full. A part without Vitest's report counts as one test.
const { appendFileSync, existsSync, readFileSync } = require('node:fs');

const [step, folder, ...given] = process.argv.slice(2);
const notRun = 77;
const linesFile = `${folder}/parts.jsonl`;

if (step === 'part') {
  const [name, status, seconds] = given;
  const verdict = judge(name, Number(status));
  appendFileSync(linesFile, `${JSON.stringify({ name, seconds: Number(seconds), ...verdict })}\n`);
  print(toLine({ name, seconds, ...verdict }));
} else {
  const parts = existsSync(linesFile) ? readFileSync(linesFile, 'utf8').trim().split('\n').map(JSON.parse) : [];
  // The end of a long log is what people read, so the failures are repeated there.
  for (const { name } of parts) for (const failure of failuresOf(name)) print(`*** FAILED in ${name}: ${failure}`);
  for (const part of parts) print(toLine(part));
  const sum = (count) => parts.reduce((total, part) => total + part[count], 0);
  const skipped = sum('skipped') > 0 ? `, ${sum('skipped')} skipped` : '';
  print(`${sum('passed')} passed, ${sum('failed')} failed${skipped}`);
  process.exitCode = parts.length > 0 && parts.every(({ outcome }) => outcome !== 'FAILED') ? 0 : 1;
}

function print(line) {
  process.stdout.write(`${line}\n`);
}

function judge(name, status) {
  const report = reportOf(name);
  if (report === null) {
    if (status === notRun) return { outcome: 'NOT RUN', passed: 0, failed: 0, skipped: 1 };
    return status === 0
      ? { outcome: 'ok', passed: 1, failed: 0, skipped: 0 }
      : { outcome: 'FAILED', passed: 0, failed: 1, skipped: 0 };
  }
  const { numPassedTests: passed, numFailedTests, numPendingTests: skipped } = report;
  // A run can fail without a failed test: a file that does not load, or an error after the last test.
  const failed = status !== 0 ? Math.max(numFailedTests, 1) : numFailedTests;
  if (failed > 0) return { outcome: 'FAILED', passed, failed, skipped };
  return { outcome: passed === 0 ? 'NOT RUN' : 'ok', passed, failed, skipped };
}

function reportOf(name) {
  const file = `${folder}/${name}.json`;
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : null;
}

function failuresOf(name) {
  return (reportOf(name)?.testResults ?? []).flatMap(({ name: file, message, assertionResults }) => {
    const failed = assertionResults.filter(({ status }) => status === 'failed');
    if (failed.length === 0) return message ? [`${file}\n${message.slice(0, 2000)}`] : [];
    return failed.map(
      ({ fullName, failureMessages }) => `${file}\n${fullName}\n${failureMessages.join('\n').slice(0, 2000)}`,
    );
  });
}

function toLine({ outcome, name, seconds, passed, failed, skipped }) {
  const counts = `${passed} passed, ${failed} failed, ${skipped} skipped`;
  return `${outcome.padEnd(8)} ${name.padEnd(20)} ${String(seconds).padStart(5)} s  ${counts}`;
}
