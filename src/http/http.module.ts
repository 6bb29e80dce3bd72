import { Global, Module } from '@nestjs/common';
import { Admission } from './admission.js';

@Global()
@Module({ providers: [Admission], exports: [Admission] })
export class HttpModule {}
