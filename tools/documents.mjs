// @ts-check
/**
 * Part of `npm run build`: copies to dist/documents what the service shows to integrators, under the same paths: the
 * pages, the clients' README and examples, and the connector's README. A link to a file that is not among them, such as
 * one to the source, becomes plain text, because at the service it would be dead.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const FOLDER = 'dist/documents';
const SHOWN =
  /^(docs\/.*\.(md|csv)|docs\/llms\.txt|clients\/(\w+\/README\.md|typescript\/examples\/\w+\.ts|(python|php)\/\w+\.(py|php)))$/;

process.chdir(path.resolve(import.meta.dirname, '..'));
const files = ['docs', 'clients']
  .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => `${folder}/${file}`))
  .map((file) => file.replaceAll(path.sep, '/'))
  .filter((file) => SHOWN.test(file))
  .concat('connectors/vendure/README.md');

rmSync(FOLDER, { recursive: true, force: true });
for (const file of files) {
  const copy = path.join(FOLDER, file === 'docs/llms.txt' ? 'llms.txt' : file);
  mkdirSync(path.dirname(copy), { recursive: true });
  if (!file.endsWith('.md')) cpSync(file, copy);
  else
    writeFileSync(
      copy,
      readFileSync(file, 'utf8').replace(/!?\[([^\]]+)\]\((?!\w+:|#)([^)#]+)[^)]*\)/g, (link, text, target) =>
        files.includes(path.posix.join(path.dirname(file), target)) ? link : text,
      ),
    );
}
