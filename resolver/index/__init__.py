"""Answer what the solver asks about projects, releases and files (`protocol.Catalog`).

Only this package uses the network and the cache. A request of the solver passes these classes:

- `live.LiveCatalog` keeps the answers for one problem in memory. Offline it reads the caches only.
- `net.online.OnlineCatalog` does the online part of its work, on an event loop.
  `bindings.BoundIndexes` says which indexes have a project, and merges their pages. `runs.Runs`
  predicts which releases will be asked for next.
- `net.remote_pages.RemotePages` and `net.remote_files.RemoteFiles` request each page and each file
  at most once a run. They store them in `store.page_cache.PageCache` and
  `store.file_cache.FileCache`, which both use `store.cache.Cache`.
- `net.client.Client` repeats requests that failed, and limits their number, size and time.
- `net.transport.Transport` has the connections.

`pool.CatalogPool` owns the objects that the catalogs of one run share.
"""
