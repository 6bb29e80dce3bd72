import { Global, Module } from '@nestjs/common';
import { Admission } from './admission.js';
import { AllowedMethods } from './allowed-methods.js';

@Global()
@Module({ providers: [Admission, AllowedMethods], exports: [Admission] })
export class HttpModule {}
