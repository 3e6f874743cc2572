import type { Reporter, TestCase } from 'vitest/node';

/** Names the tests that failed and then passed at another try, so that a retry hides nothing. */
export class SecondTries implements Reporter {
  readonly #names: string[] = [];

  onTestCaseResult(test: TestCase): void {
    if (test.diagnostic()?.flaky) this.#names.push(`${test.module.relativeModuleId} > ${test.fullName}`);
  }

  onTestRunEnd(): void {
    for (const name of this.#names) process.stdout.write(`passed at a second try: ${name}\n`);
  }
}
