import { describeModel } from '../support/model/property.js';

describeModel({ sequences: 8, seconds: 30 });
