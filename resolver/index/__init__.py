"""The contents of indexes, behind one protocol.

Only this package touches the network and the cache. A question of the solver goes this way:

- `live.LiveCatalog` remembers the answers of one problem's indexes. Offline it asks the caches.
- `net.online.OnlineCatalog` is its part on the event loop. `bindings.BoundIndexes` says which
  indexes are asked, and what their answers make together. `runs.Runs` guesses what is asked next.
- `net.remote_pages.RemotePages` and `net.remote_files.RemoteFiles` request pages and files once a
  run. They store them in `store.page_cache.PageCache` and `store.file_cache.FileCache`, both over
  `store.cache.Cache`.
- `net.client.Client` tries requests again and limits them.
- `net.transport.Transport` has the connections.

`pool.CatalogPool` holds what the catalogs of a run share.
"""
