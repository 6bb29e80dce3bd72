// @ts-check
// Adds up what was seeded, without the rests that let orders go first.
import { PROJECT } from '../../tools/support/processes.mjs';

/** @param {string} file */
const built = (file) => import(`${PROJECT}/dist/src/${file}.js`);

const { runWithServices } = await built('operations/application');
const { SumsService } = await built('reports/sums.service');

await runWithServices(async (/** @type {{ get: (type: unknown) => any }} */ services) => {
  const sums = services.get(SumsService);
  while ((await sums.run()).hasMore);
});
