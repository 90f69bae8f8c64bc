import Backstitch
import BackstitchStore

extension SimulationWorld {
    /// A transaction of the application that stays on the device.
    func editLocally(_ index: Int) async throws {
        let edit = LocalEdit(
            seed: generator.next(), pool: pool, schema: devices[index].schema, mayBeLarge: false)
        do {
            let done = try await devices[index].store.write(isLocalOnly: true) {
                try edit.perform($0)
            }
            count(.localOnlyEdit)
            note("\(SimulatedDevice.name(index)) keeps: \(done.joined(separator: ", "))")
        } catch let error as StoreError where error.code == .unsynced {
            note("\(SimulatedDevice.name(index)) can't keep what waits for the service")
        } catch let error as StoreError where error.code == .alreadyExists {
            note("\(SimulatedDevice.name(index)) can't keep what hides an evicted record")
        } catch {
            guard devices[index].isCrashed else { throw error }
            try await restart(index)
        }
    }

    /// Takes some records off a device.
    func evict(_ index: Int) async throws {
        let names = (0..<3).map { _ in pool.name(.note, &generator) }
        let (name, schema) = (SimulatedDevice.name(index), devices[index].schema)
        for note in names {
            do {
                let isGone = try await devices[index].store.write {
                    switch schema {
                    case .current, .keyed: try $0.evict(SimulatedNote.ID(note))
                    case .old: try $0.evict(OldNote.ID(note))
                    }
                }
                guard isGone else { continue }
                count(.eviction)
                self.note("\(name) evicts \(note)")
            } catch let error as StoreError where error.code == .unsynced {
                self.note("\(name) can't evict \(note), which waits for the service")
            } catch {
                guard devices[index].isCrashed else { throw error }
                return try await restart(index)
            }
        }
    }

    /// Takes some of the records back that were taken off a device.
    func fetchAgain(_ index: Int) async throws {
        guard !exchanging.contains(index), devices[index].offlineUntil <= step else { return }
        let names = (0..<4).map { _ in pool.name(.note, &generator) }
        let (name, engine) = (SimulatedDevice.name(index), devices[index].engine)
        exchanging.insert(index)
        do {
            let count: Int
            switch devices[index].schema {
            case .current, .keyed:
                count = try await engine.fetchAgain(names.map { SimulatedNote.ID($0) })
            case .old: count = try await engine.fetchAgain(names.map { OldNote.ID($0) })
            }
            note("\(name) fetches \(count) of \(names.count) again")
        } catch let error as SyncError {
            note("\(name) can't fetch again: \(error.code)")
        } catch {
            guard devices[index].isCrashed else { throw error }
        }
        exchanging.remove(index)
        try await restartCrashed()
    }
}
