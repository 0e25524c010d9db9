// index.js - every workflow of this directory under its type's name.
'use strict';
Object.assign(exports, require('./attempts'));
Object.assign(exports, require('./basic'));
Object.assign(exports, require('./chains'));
Object.assign(exports, require('./changes'));
Object.assign(exports, require('./children'));
Object.assign(exports, require('./outcomes'));
Object.assign(exports, require('./recorded'));
Object.assign(exports, require('./talk'));
