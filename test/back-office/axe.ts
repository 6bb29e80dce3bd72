import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Finding {
  id: string;
  impact: string;
  nodes: { html: string }[];
}

/** What axe finds serious in a page. @param rule the only one */
export async function axeFindings(page: Page, rule?: string): Promise<string[]> {
  // As the browser's own tools do, beside the content security policy of the page.
  await page.evaluate(AXE);
  const { violations } = await page.evaluate<{ violations: Finding[] }>(
    `axe.run(${rule === undefined ? '' : `{ runOnly: ['${rule}'] }`})`,
  );
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes[0]!.html}`);
}
