// @ts-check
//
// The Nest CLI. It requires `ora`, an ES module, within a cycle, which Node 20.19 refuses unless the module is loaded.
import 'ora';

await import('@nestjs/cli/bin/nest.js');
