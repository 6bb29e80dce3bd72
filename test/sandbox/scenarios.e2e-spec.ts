import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { findingsOf } from '../support/expectations.js';
import { SANDBOX } from '../support/sandbox.js';
import { allSituations, FAMILIES, Visits } from '../support/scenarios/coverage.js';
import { ACCEPTED } from '../support/scenarios/holes.js';
import { Run, withoutIds } from '../support/scenarios/run.js';
import { readScenarios } from '../support/scenarios/table.js';
import type { FeedEvent } from '../support/shop.js';
import { useService } from '../support/use-service.js';

const scenarios = readScenarios();
/** The first scenario of each page. */
const firsts = FAMILIES.map((family) => scenarios.findIndex((scenario) => scenario.family === family));
const situations = allSituations();
const visited = new Set<string>();

describe('the scenarios of test/sandbox/scenarios', () => {
  const { service } = useService({ env: SANDBOX });
  let runs: Promise<Run>[];
  let repeated: Promise<FeedEvent[]>[];

  beforeAll(async () => {
    runs = scenarios.map((scenario) => Run.of(service, scenario, new Visits(visited, scenario.family)));
    repeated = firsts.map((first) => Run.eventsOf(service, scenarios[first]!));
    await Promise.allSettled([...runs, ...repeated]);
  });
  afterAll(() => {
    const holes = situations.filter((situation) => !visited.has(situation));
    const reasonOf = (hole: string): string => ACCEPTED.find(({ what }) => what.test(hole))?.reason ?? 'no reason';
    const lines = holes.map((hole) => `  ${hole}: ${reasonOf(hole)}\n`);
    process.stdout.write(
      `${situations.length} situations, of which no scenario has ${holes.length}:\n${lines.join('')}`,
    );
  });

  it.each(scenarios.map(({ family, title }, at) => ({ family, title, at })))(
    '$family: $title: each step has exactly the events of the table',
    async ({ at }) => {
      expect((await runs[at]!).rows).toEqual(scenarios[at]!.rows);
    },
  );

  it.each(firsts.map((first, at) => ({ family: FAMILIES[at], first, at })))(
    '$family: the same steps of another merchant at the same time have the same events',
    async ({ first, at }) => {
      expect(withoutIds(await repeated[at]!)).toEqual(withoutIds((await runs[first]!).feed));
    },
  );

  it('the scenarios have every situation, except those that have a written reason', () => {
    const isAccepted = (situation: string): boolean => ACCEPTED.some(({ what }) => what.test(situation));
    expect(situations.filter((situation) => !visited.has(situation) && !isAccepted(situation))).toEqual([]);
    expect([...visited].filter(isAccepted)).toEqual([]);
    expect(ACCEPTED.filter(({ what }) => !situations.some((situation) => what.test(situation)))).toEqual([]);
    // What is visited must be a situation.
    expect([...visited].filter((situation) => !situations.includes(situation))).toEqual([]);
  });

  it('reconcile finds nothing after all scenarios', async () => {
    expect(await findingsOf(service)).toEqual([]);
  });
});
