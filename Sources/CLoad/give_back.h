#pragma once

// Gives back the resident pages of the program and its libraries that are the same as in their
// files: code and constants. A page that is used again comes from the page cache, without a read.
//
// Why: loading libcurl reads all tables of its 30 libraries, and 64 KB around each page. After
// exchanges over TLS a daemon then has 22 MB resident; with this call it has 15. The goal is 18.
void credd_give_code_back(void);
